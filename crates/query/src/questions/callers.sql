-- Who calls a function, and for how much time?
-- The rows with its name as `callee`; with its name as `caller` they are what it calls.
SELECT caller, callee, total / 1000000 AS ms
FROM call_edges
WHERE callee LIKE '%nanosleep%' OR callee LIKE '%futex%'
ORDER BY total DESC, caller
