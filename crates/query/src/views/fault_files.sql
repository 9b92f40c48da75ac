-- Page faults by the file that was mapped there.
--
-- recording text: The recording.
-- file text: The file; none for anonymous memory.
-- major bigint: Faults that had to read.
-- minor bigint: Faults that had not.
-- threads bigint: How many threads had them.
SELECT
  recording,
  file,
  sum(CASE WHEN kind = 'major' THEN count ELSE 0 END) AS major,
  sum(CASE WHEN kind = 'minor' THEN count ELSE 0 END) AS minor,
  count(DISTINCT thread) AS threads
FROM faults
GROUP BY recording, file
