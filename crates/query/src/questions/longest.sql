-- Which single waits were the longest, and where?
-- With the whole stack, root first: a `JOIN` with few stacks writes out few.
SELECT t.thread_name, t.start / 1000000 AS at_ms, t.duration / 1000000 AS ms, t.cause, s.text
FROM thread_time t
JOIN stack_texts s ON s.recording = t.recording AND s.stack = t.stack
WHERE t.cause LIKE 'blocked.%'
ORDER BY t.duration DESC, t.start
LIMIT 10
