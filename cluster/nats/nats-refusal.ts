/** The start is refused: NATS, or what this host has for it, is not as svc needs it. The message is one sentence. */
export class NatsRefusal extends Error {
  override name = 'NatsRefusal';
}
