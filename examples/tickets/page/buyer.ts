/** This window's buyer, identified by the string alone. Another window is another buyer. */
const KEY = 'tickets.buyer';

export const buyer: string = sessionStorage.getItem(KEY) ?? crypto.randomUUID();
sessionStorage.setItem(KEY, buyer);
