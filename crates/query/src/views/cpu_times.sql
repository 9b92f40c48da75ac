-- What a CPU did for the recorded threads.
--
-- recording text: The recording.
-- cpu uint32: The CPU.
-- busy bigint (ns): Time on it.
-- cpu_user bigint (ns): Of this, in user code.
-- cpu_kernel bigint (ns): Of this, in the kernel.
-- threads bigint: How many threads ran on it.
-- share double: Part of the recording's length, 0 to 1.
SELECT
  i.recording,
  i.cpu,
  sum(i.duration) AS busy,
  sum(CASE WHEN i.cause = 'cpu.user' THEN i.duration ELSE 0 END) AS cpu_user,
  sum(CASE WHEN i.cause = 'cpu.kernel' THEN i.duration ELSE 0 END) AS cpu_kernel,
  count(DISTINCT i.thread) AS threads,
  CAST(sum(i.duration) AS DOUBLE) / nullif(max(r.wall), 0) AS share
FROM intervals i
JOIN recordings r ON r.recording = i.recording
WHERE i.cause LIKE 'cpu.%' AND i.cpu IS NOT NULL
GROUP BY i.recording, i.cpu
