-- Clock samples of a function, as a sampling profiler counts them.
--
-- recording text: The recording.
-- name text: `module!function`; none if the stack was lost.
-- self bigint: Samples in which it was the leaf.
-- cpu_user bigint: Of these, in user code.
-- cpu_kernel bigint: Of these, in the kernel.
-- threads bigint: In how many threads.
SELECT
  s.recording,
  l.name,
  count(*) AS self,
  sum(CASE WHEN s.kind = 'user' THEN 1 ELSE 0 END) AS cpu_user,
  sum(CASE WHEN s.kind = 'kernel' THEN 1 ELSE 0 END) AS cpu_kernel,
  count(DISTINCT s.thread) AS threads
FROM samples s
LEFT JOIN leaf_names l ON l.recording = s.recording AND l.stack = s.stack
GROUP BY s.recording, l.name
