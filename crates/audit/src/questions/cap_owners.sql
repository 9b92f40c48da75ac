-- Owners of long values of one path by their largest value, and by all of theirs together.
--
-- largest bigint (bytes): The owner's largest value in UTF-8.
-- together bigint (bytes): All long values of the owner.
-- owners bigint: Owners with these sizes.
WITH of_owners AS (
  SELECT
    v.owner_kind,
    v.owner_id,
    max(v.bytes_utf8) AS largest,
    sum(v.bytes_utf8) AS together
  FROM long_values v
  JOIN terms k ON k.term_id = v.facet_key
  JOIN terms t ON t.term_id = v.path_id
  WHERE k.text = :facet_key AND t.text = :path
  GROUP BY v.owner_kind, v.owner_id
)
SELECT largest, together, count(*) AS owners
FROM of_owners
GROUP BY largest, together
