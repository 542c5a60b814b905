import {v} from 'svc/values';
import {internal} from './_generated/api';
import {action} from './_generated/server';

/** Asks the dictionary server what a word means, and says it in the channel. */
export const define = action({
  args: {channel: v.string(), word: v.string()},
  returns: v.string(),
  handler: async (ctx, {channel, word}) => {
    await ctx.auth.getVerifiedIdentity();
    const server = process.env.DICTIONARY_URL;
    if (server === undefined) throw new Error('Set DICTIONARY_URL first, see the README');
    const response = await fetch(`${server}/${encodeURIComponent(word)}`);
    if (response.status === 404) throw new Error(`The dictionary does not know ${word}`);
    if (!response.ok) throw new Error(`The dictionary answered ${response.status}`);
    const {meaning} = (await response.json()) as {meaning: string};
    console.log('asked the dictionary', {word});
    await ctx.runMutation(internal.messages.sendTo, {channel, author: 'assistant', text: `${word}: ${meaning}`});
    return meaning;
  },
});
