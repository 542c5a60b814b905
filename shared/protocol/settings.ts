/** Wire type of the settings' routes. GET|PUT /api/tenants/{tenant_id}/settings */
import Type from 'typebox';
import {EGRESS_PATTERNS_MAX} from '../limits.ts';

const Patterns = Type.Array(Type.String(), {maxItems: EGRESS_PATTERNS_MAX});

/** The answer to GET. */
export const SettingsBody = Type.Object({
  egress: Type.Object({allow: Patterns, deny: Patterns}),
  allowed_origins: Type.Union([
    Type.Array(Type.String({maxLength: 300}), {maxItems: EGRESS_PATTERNS_MAX}),
    Type.Null(),
  ]),
});

/** The body of PUT: an absent member keeps its value. */
export const SettingsChange = Type.Partial(SettingsBody);
