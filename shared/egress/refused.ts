/** The error for a connection that the tenant's egress policy refused. The message is for the author of the code. */
export class EgressRefused extends Error {
  override name = 'EgressRefused';
}
