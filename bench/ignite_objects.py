"""How much CPU do encoded objects of Apache Ignite take until they are batches? Objects of 4 kB that lie in
memory, with a vector of 960 floats, into batches of 128 with the vector, a number and one of an object in
the object; nanoseconds of one core for each.

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
