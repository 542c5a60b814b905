/** What stands beside the chat: a login provider, and a dictionary for its assistant to ask. */
import {answer, type Beside, type Handler} from '../run/beside.ts';
import {createIssuer} from './issuer.ts';

const TOKEN_SECONDS = 60;

const MEANINGS = new Map([
  ['idempotent', 'doing it twice is the same as doing it once'],
  ['durable', 'still there after the power went out'],
  ['tenant', 'a resident of the house who cannot look into the other flats'],
]);

const dictionary: Handler = (_, response, path) => {
  const word = decodeURIComponent(path.slice(1)).toLowerCase();
  const meaning = MEANINGS.get(word) ?? null;
  answer(response, meaning === null ? 404 : 200, {word, meaning});
};

/** @param origin where the page, and all of this, is served */
export async function beside(origin: string): Promise<Beside> {
  const tokenSeconds = Number(process.env.CHAT_TOKEN_SECONDS ?? TOKEN_SECONDS);
  return {
    handlers: {
      '/auth': await createIssuer({issuer: `${origin}/auth`, audience: 'chat', tokenSeconds}),
      '/dictionary': dictionary,
    },
    environment: {CHAT_ISSUER: `${origin}/auth`, DICTIONARY_URL: `${origin}/dictionary`},
  };
}
