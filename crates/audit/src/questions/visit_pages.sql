-- How many interactions have how many pages: medians follow exactly.
--
-- bucket bigint: As in visit_rows.
-- robot bigint: As in visit_rows.
-- pages bigint: Pages.
-- sessions bigint: Interactions with so many.
SELECT bucket, robot, pages, count(*) AS sessions
FROM visit_rows
GROUP BY bucket, robot, pages
