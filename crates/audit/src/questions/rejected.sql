-- Rows that the imports read and rejected.
--
-- read_rows bigint: Rows that were read.
-- rejected bigint: Rows that could not be read.
SELECT sum(s.rows) AS read_rows, sum(s.rejected) AS rejected FROM sources s
