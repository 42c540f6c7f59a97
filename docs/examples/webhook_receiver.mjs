// Receive webhooks: verify, store once, answer; the work comes afterwards.  Needs Node 18 and nothing else.
// Run it: WEBHOOK_SECRET=whsec_... PORT=9000 node webhook_receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const KEY = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64');
const PORT = Number(process.env.PORT ?? 9000);
const INBOX = process.env.INBOX ?? 'inbox.ndjson';
const TOLERANCE = 300; // seconds: what is older may be a recording
const MOST_BYTES = 262_144; // more than any webhook has

// Tell whether the body was signed with our secret, and lately.  Verify the bytes as they came, before parsing.
function genuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (!id || !signatures || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE)) return false;
  const digest = createHmac('sha256', KEY).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const ours = Buffer.from(`v1,${digest}`);
  // Two or three while a secret is rotated: one is enough.
  return signatures.split(' ').some((one) => {
    const theirs = Buffer.from(one);
    return theirs.length === ours.length && timingSafeEqual(theirs, ours);
  });
}

const lines = existsSync(INBOX) ? readFileSync(INBOX, 'utf8').split('\n').filter(Boolean) : [];
const known = new Set(lines.map((line) => JSON.parse(line).id));

// Keep an event for whoever works on it; false for one that has come before.
function store(event) {
  if (known.has(event.id)) return false;
  appendFileSync(INBOX, `${JSON.stringify(event)}\n`, { flush: true });
  known.add(event.id);
  return true;
}

async function statusFor(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MOST_BYTES) return 413;
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!genuine(request.headers, body)) return 401;
  const event = JSON.parse(body);
  if (store(event)) { // written before it is acknowledged
    console.log(event.type, event.subject.type, event.subject.id, event.subject.sequence);
  }
  return 204; // also for a duplicate: it has arrived
}

createServer(async (request, response) => {
  response.writeHead(await statusFor(request).catch(() => 400)).end();
}).listen(PORT, '127.0.0.1');
