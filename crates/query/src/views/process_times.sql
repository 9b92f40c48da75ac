-- Time of a process's recorded threads together.
--
-- recording text: The recording.
-- process uint32 (row of processes): The process.
-- process_name text: Its name.
-- pid uint32 (kernel pid): Its kernel number.
-- threads bigint: Recorded threads that lived.
-- wall bigint (ns): Their lives together.
-- cpu bigint (ns): On a CPU.
-- runnable bigint (ns): Ready, without a CPU.
-- blocked bigint (ns): Not ready.
SELECT
  recording,
  process,
  process_name,
  pid,
  count(DISTINCT thread) AS threads,
  sum(total) AS wall,
  sum(CASE WHEN cause LIKE 'cpu.%' THEN total ELSE 0 END) AS cpu,
  sum(CASE WHEN cause LIKE 'runnable%' THEN total ELSE 0 END) AS runnable,
  sum(CASE WHEN cause LIKE 'blocked.%' THEN total ELSE 0 END) AS blocked
FROM thread_states
GROUP BY recording, process, process_name, pid
