import {useEffect, useState} from 'react';
import {useAction, useQuery} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {api} from '../svc/_generated/api';
import {buyer} from './buyer';

const CARDS = [
  {number: '4242 4242 4242 4242', label: 'A card that is good'},
  {number: '4000 0000 0000 0002', label: 'A card that the bank declines'},
];

/** What this window holds and bought. Paying is an action: it asks the bank. */
export function Basket() {
  const seats = useQuery(api.seats.mine, {buyer}) ?? [];
  const orders = useQuery(api.orders.mine, {buyer}) ?? [];
  const pay = useAction(api.orders.pay);
  const [card, setCard] = useState(CARDS[0]!.number);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const held = seats.filter(({state}) => state === 'held' || state === 'paying');
  const amount = held.reduce((sum, {price}) => sum + price, 0);
  const paid = orders.filter(({state}) => state === 'paid');

  async function buy() {
    setBusy(true);
    setProblem(null);
    try {
      const outcome = await pay({buyer, card});
      setProblem(outcome.problem);
    } catch (caught) {
      setProblem(failureText(caught));
    } finally {
      setBusy(false);
    }
  }

  return (
    <section className="panel basket" aria-labelledby="basket">
      <h2 id="basket">Your seats</h2>
      {held.length === 0 && paid.length === 0 && (
        <p className="muted">Choose some. They are yours for half a minute, to pay.</p>
      )}
      {held.length > 0 && (
        <>
          <ul aria-label="Held for you">
            {held.map(({_id, place, price, state, until}) => (
              <li key={_id}>
                <b>{place}</b>
                <span className="muted">{state === 'paying' ? 'asking the bank…' : <Remaining until={until} />}</span>
                <span>{price} €</span>
              </li>
            ))}
          </ul>
          <label htmlFor="card">Pay with</label>
          <select id="card" value={card} onChange={event => setCard(event.target.value)}>
            {CARDS.map(({number, label}) => (
              <option key={number} value={number}>
                {label}
              </option>
            ))}
          </select>
          <button type="button" className="button" disabled={isBusy} onClick={() => void buy()}>
            {isBusy ? 'Asking the bank…' : `Pay ${amount} €`}
          </button>
        </>
      )}
      {problem !== null && (
        <p className="refusal" role="alert">
          {problem}
        </p>
      )}
      {paid.map(({_id, places, amount: price}) => (
        <p key={_id} className="ticket">
          <b>{places.join(', ')}</b>
          <span>paid · {price} €</span>
        </p>
      ))}
    </section>
  );
}

function Remaining({until}: {until: number | undefined}) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return until === undefined ? 'a moment…' : `${Math.max(0, Math.ceil((until - now) / 1000))} s left`;
}
