/** What stands beside the tickets: a bank that can be asked twice about an order and charges it once. */
import {answer, type Beside, type Handler, readObject} from '../run/beside.ts';

const HOLD_SECONDS = 30;
const DECLINED = /0002$/;

function createBank(): Handler {
  /** Orders that are paid → the amount. */
  const charges = new Map<unknown, unknown>();
  return async (request, response, path) => {
    const body = await readObject(request);
    const {order, amount, card} = body ?? {};
    if (request.method !== 'POST' || typeof order !== 'string') {
      return answer(response, 400, {message: 'The bank takes orders by POST'});
    }
    switch (path) {
      case '/charges':
        if (DECLINED.test(String(card))) return answer(response, 402, {message: 'The bank declined this card'});
        charges.set(order, charges.get(order) ?? amount);
        return answer(response, 200, {charged: charges.get(order)});
      case '/refunds':
        return answer(response, 200, {refunded: charges.delete(order)});
      default:
        return answer(response, 404, {message: `The bank has no ${path}`});
    }
  };
}

/** @param origin where the page, and all of this, is served */
export async function beside(origin: string): Promise<Beside> {
  return {
    handlers: {'/bank': createBank()},
    environment: {BANK_URL: `${origin}/bank`, HOLD_SECONDS: process.env.TICKETS_HOLD_SECONDS ?? `${HOLD_SECONDS}`},
  };
}
