/** Why a token was not accepted: the contract's 401, with the reason clients and people tell cases apart by. */
import {ServiceError} from '../../../shared/errors.ts';

export type RejectionReason =
  /** The header, the token's form, its key, its signature or one of its times. */
  | 'InvalidAuthHeader'
  /** No provider of this tenant accepts the token's issuer and audience. */
  | 'NoAuthProvider'
  /** The provider's keys could not be fetched. */
  | 'AuthProviderDiscoveryFailed';

export function rejected(reason: RejectionReason, message: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('auth.unauthorized', message, {reason}, options);
}

/** It cannot be judged now whether a token is good: nothing is said about the token, and later there may be an answer. */
export function unavailable(message: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('session.auth_unavailable', message, {reason: 'AuthProviderDiscoveryFailed'}, options);
}

/** Outside text in a message: short, and on one line. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
