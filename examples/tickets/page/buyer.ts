/** This window's buyer: whoever knows the string is them. Another window is another buyer. */
const KEY = 'tickets.buyer';

export const buyer: string = sessionStorage.getItem(KEY) ?? crypto.randomUUID();
sessionStorage.setItem(KEY, buyer);
