-- Which functions use the CPU?
-- `self` is a function's own time, `total` that with all that it called.
SELECT name, self_cpu / 1000000 AS self_ms, total_cpu / 1000000 AS total_ms
FROM top_functions
WHERE total_cpu > 0
ORDER BY self_cpu DESC, total_cpu DESC, name
