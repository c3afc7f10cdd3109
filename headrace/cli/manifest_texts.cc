#include "headrace/cli/manifest_texts.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {

std::vector<std::string> given_options(const OptionValues& values,
                                       const std::set<std::string_view>& left_out) {
  std::vector<std::string> out;
  for (const Option& option : values.table()) {
    if (!values.given(option.name) || left_out.contains(option.name)) continue;
    if (option.type == OptionType::kFlag) {
      if (values.flag(option.name)) out.push_back(concat("--", option.name));
    } else if (option.type == OptionType::kTextList) {
      for (const std::string& text : values.list(option.name))
        out.push_back(concat("--", option.name, "=", text));
    } else {
      out.push_back(concat("--", option.name, "=", values.shown(option.name)));
    }
  }
  return out;
}

std::string quoted_for_yaml(const std::string& text) { return Json(text).dump(); }

Status check_manifest_texts(const std::vector<std::string>& arguments, std::string_view otherwise) {
  for (const std::string& argument : arguments) {
    if (is_valid_utf8(argument)) continue;
    return Error{Code::kInvalidArgument,
                 concat("the argument ", printable_line(argument, 200),
                        " is not UTF-8, but a manifest can only hold UTF-8; ", otherwise)};
  }
  return {};
}

std::string image_dockerfile(std::string_view extra) {
  return concat(R"(FROM python:3.11-slim
RUN pip install --no-cache-dir headrace)",
                extra, "==", HEADRACE_VERSION, R"(
USER nobody
ENV HOME=/tmp
ENTRYPOINT ["headrace"])");
}

}  // namespace headrace
