"""A proxy in front of an S3 server that makes requests fail: seeded, in every phase of an exchange, and with
an account of the faults. `python tools/faultproxy --help`; in tests: `FaultProxy` of faultproxy.proxy.

Only for clients on this machine: the proxy answers every client that connects, and holds whole bodies in
memory.
"""
