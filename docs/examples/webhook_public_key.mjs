// Verify an ed25519 signature with the public keys of GET /webhooks/keys.  Needs Node 18 and nothing else.
import { createPublicKey, verify } from 'node:crypto';

// Tell whether one of these keys signed the body; `keys` is the answer of GET /webhooks/keys.
export function genuine(headers, body, keys) {
  const content = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
  return headers['webhook-signature'].split(' ').some((signature) => {
    const [scheme, encoded] = signature.split(',');
    return scheme === 'v1a' && keys.keys.some((jwk) =>
      verify(null, content, createPublicKey({ key: jwk, format: 'jwk' }), Buffer.from(encoded, 'base64')));
  });
}
