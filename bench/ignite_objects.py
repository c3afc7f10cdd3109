"""How much CPU time does it take to turn encoded objects of Apache Ignite into batches? Objects of 4 kB in
memory, with a vector of 960 floats, become batches of 128 with the vector, a number, and a number of an inner
object. Figures are nanoseconds of one core per object.

    ./dev bench ignite_objects --json bench/results/<date>/ignite_objects.json
"""

import statistics

import measuring


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=20).parse_args()
    program = measuring.build("headrace_bench_ignite_objects")
    answer = measuring.run_json([program, arguments.repeats], measuring.cores()[:1])
    nanoseconds = 1e9 * statistics.median(answer["cpu_s"]) / answer["records"]
    measuring.report(arguments.json, {"CPU ns of an object": nanoseconds}, answer, {})


if __name__ == "__main__":
    main()
