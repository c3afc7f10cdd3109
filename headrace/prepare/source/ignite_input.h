#pragma once

/// \file Rows of Apache Ignite as an input: ignite-sql://. docs/decisions/ignite-sql.md.

namespace headrace {

class InputKind;

const InputKind& ignite_sql_input_kind();

}  // namespace headrace
