/** Builds the contract's 401 for a rejected token, with the reason that distinguishes the cases. */
import {ServiceError} from '../../../shared/errors.ts';

export type RejectionReason =
  /** Fault in the header, or in the token's form, key, signature or times. */
  | 'InvalidAuthHeader'
  /** No provider of this tenant accepts the token's issuer and audience. */
  | 'NoAuthProvider'
  /** The provider's keys could not be fetched. */
  | 'AuthProviderDiscoveryFailed';

export function rejected(reason: RejectionReason, message: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('auth.unauthorized', message, {reason}, options);
}

/** The token cannot be verified at the moment. This says nothing about the token; a later attempt may succeed. */
export function unavailable(message: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('session.auth_unavailable', message, {reason: 'AuthProviderDiscoveryFailed'}, options);
}

/** Shortens outside text for a message, and puts it on one line. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
