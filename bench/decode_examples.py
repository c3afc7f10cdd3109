"""How fast do tf.Examples in memory become batches of 128? The competitors are TensorFlow's parse_example on
batches and its parse_single_example. An Example is {float[512], int64, bytes} of 3.4 kB. Figures are examples
per second of CPU time on one pinned core; each program is a separate process, and they take turns.

    ./dev bench decode_examples --json bench/results/<date>/decode_examples.json
"""

import measuring
from measuring import peers

EXAMPLES = 9_984  # 78 batches; 34 MB, more than a core's caches hold
REPEATS = {"headrace": 20, "parse_example": 5, "parse_single_example": 3}


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program, core = measuring.build("headrace_bench_decode_examples"), measuring.cores()[0]
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    file = measuring.DATA / f"decode-{EXAMPLES}.tfrecord"
    if not file.exists():
        measuring.run([program, "write", file, EXAMPLES], measuring.cores())

    def tensorflow(how: str, repeats: int) -> dict | str:
        return peers.run_project("decode_tf_data", how, file, repeats, on=[core])

    programs = {
        "headrace": lambda: measuring.run_json([program, "decode", file, REPEATS["headrace"]], [core]),
        "parse_example": lambda: tensorflow("batched", REPEATS["parse_example"]),
        "parse_single_example": lambda: tensorflow("single", REPEATS["parse_single_example"]),
    }
    raw, missing = measuring.take_turns(programs, arguments.repeats)
    rates = {name: measuring.rate(answers, EXAMPLES) for name, answers in raw.items() if answers}
    summary = {"decode examples, per CPU-second (must be >= 600000)": rates["headrace"]}
    compared = {}
    for name, least in (("parse_example", 4), ("parse_single_example", 25)):
        if name not in rates:
            continue
        key = f"decode examples, over {name} (must be >= {least})"
        summary[key] = rates["headrace"] / rates[name]
        compared[key] = f"{rates[name]:,.0f} examples/CPU-s; Headrace {rates['headrace']:,.0f}"
    measuring.report(arguments.json, summary, raw, compared, missing=missing)


if __name__ == "__main__":
    main()
