-- The largest values, without what they say.
--
-- facet_key text: Name of the facet.
-- path text: Path inside of it.
-- bytes bigint (bytes): Size in UTF-8.
-- host text: Scheme and host of an address; none else.
-- junk text: What it looks like; none when nothing was seen.
-- owner_kind text: contact or interaction.
-- owner_id bigint: Key of the owner.
SELECT
  k.text AS facet_key,
  t.text AS path,
  v.bytes_utf8 AS bytes,
  h.text AS host,
  j.text AS junk,
  v.owner_kind,
  v.owner_id
FROM (
  SELECT facet_key, path_id, bytes_utf8, host, junk, owner_kind, owner_id
  FROM long_values
  ORDER BY bytes_utf8 DESC, owner_kind, owner_id, path_id
  LIMIT :top
) v
JOIN terms k ON k.term_id = v.facet_key
JOIN terms t ON t.term_id = v.path_id
LEFT JOIN terms h ON h.term_id = v.host
LEFT JOIN terms j ON j.term_id = v.junk
ORDER BY v.bytes_utf8 DESC, v.owner_kind, v.owner_id, t.text
