-- How many recordings have findings, and what their shares are of.
--
-- recordings bigint: Recordings with thread time.
-- whole bigint (ns): What shares of all of them are of.
SELECT count(r.judged) AS recordings, sum(r.judged) AS whole FROM fleet_recordings r
