/** A connection was not made, because of the tenant's egress policy. The message is for the author of the code. */
export class EgressRefused extends Error {
  override name = 'EgressRefused';
}
