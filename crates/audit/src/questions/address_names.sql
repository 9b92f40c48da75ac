-- The names of some addresses.
--
-- address_id bigint: Its key.
-- text text: The address; none when it was imported as a hash.
-- hash bigint: Its hash.
SELECT a.address_id, a.text AS text, a.hash
FROM addresses a
WHERE a.address_id IN (:keys)
