import {httpActionGeneric, internalQueryGeneric} from '../../../../sdk/server/index.ts';
import {query} from '../sample-app.ts';

export const one = query({args: {}, handler: async () => 1});
export const hidden = internalQueryGeneric({args: {}, handler: async () => 'text'});
export const page = httpActionGeneric(async () => new Response());
