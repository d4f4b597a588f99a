"""A service under gevent that creates users in Cassandra: with each latency, one after the other and in a pool."""
