"""A proxy in front of an S3 server that makes it fail: seeded, in every phase of an exchange, and with an
account of what it did. `python tools/faultproxy --help`; in tests: `FaultProxy` of faultproxy.proxy.

For clients on this machine only: it answers whoever connects, and keeps whole bodies in memory.
"""
