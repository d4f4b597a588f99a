"""What developers run: budgets, benchmarks, comparisons, profiles. A service loads none of it unless it is profiled."""
