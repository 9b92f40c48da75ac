-- Addresses of clients.
--
-- address_id bigint: Key.
-- text text: The address; none when it was imported as a hash.
SELECT address_id, text FROM addresses
