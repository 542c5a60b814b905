import {useState} from 'react';
import {SvcHttpClient} from 'svc/browser';
import {useMutation, useSvc} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {api} from '../svc/_generated/api';
import type {Id} from '../svc/_generated/dataModel';
import type {Show} from './app';

const STRANGERS = 30;
/** So few that most of them want a seat that another one wants, too. */
const WANTED_SEATS = 12;

type Tally = {asked: number; held: number; taken: number; seats: number};

/** Many buyers at once, each a client of its own, who all want the same few seats. */
export function Rush({show}: {show: Show}) {
  const client = useSvc();
  const startOver = useMutation(api.shows.startOver);
  const [tally, setTally] = useState<Tally | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  async function attempt(act: () => Promise<void>) {
    setBusy(true);
    setProblem(null);
    try {
      await act();
    } catch (caught) {
      setProblem(failureText(caught));
    } finally {
      setBusy(false);
    }
  }

  async function rush() {
    const rows = await Promise.all(show.rows.map(row => client.query(api.seats.row, {show: show._id, row})));
    const free = rows.flat().filter(({state}) => state === 'free');
    const wanted = shuffled(free).slice(0, WANTED_SEATS);
    const outcomes = await Promise.all(
      Array.from({length: STRANGERS}, () => strangerWants(shuffled(wanted).map(({_id}) => _id))),
    );
    const all = outcomes.flat();
    setTally({
      asked: all.length,
      held: all.filter(outcome => outcome === 'held').length,
      taken: all.filter(outcome => outcome === 'taken').length,
      seats: wanted.length,
    });
  }

  return (
    <section className="panel rush" aria-labelledby="rush">
      <h2 id="rush">Rush hour</h2>
      <p className="muted">
        {STRANGERS} strangers press the same {WANTED_SEATS} seats at the same time, and pay for none: half a minute
        later a scheduled mutation has freed them all.
      </p>
      <div className="actions">
        <button type="button" className="button" disabled={isBusy} onClick={() => void attempt(rush)}>
          {isBusy ? 'They press…' : 'Open the doors'}
        </button>
        <button
          type="button"
          className="button plain"
          disabled={isBusy}
          onClick={() => void attempt(async () => void (await startOver({show: show._id})))}
        >
          Free all seats
        </button>
      </div>
      {tally !== null && (
        <p className="tally" role="status">
          <b>{tally.asked}</b> times a seat was asked for, <b>{tally.held}</b> times a buyer got one of the{' '}
          <b>{tally.seats}</b>, <b>{tally.taken}</b> times it was taken. No buyer got another's.
        </p>
      )}
      {problem !== null && (
        <p className="refusal" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

/** Asks for one after the other until one is theirs. */
async function strangerWants(seats: Id<'seats'>[]): Promise<string[]> {
  const stranger = new SvcHttpClient(SVC_DEPLOYMENT);
  const buyer = `stranger-${crypto.randomUUID()}`;
  const outcomes: string[] = [];
  for (const seat of seats) {
    const outcome = await stranger.mutation(api.seats.hold, {seat, buyer});
    outcomes.push(outcome);
    if (outcome === 'held') break;
  }
  return outcomes;
}

function shuffled<T>(values: T[]): T[] {
  return values
    .map(value => ({value, at: Math.random()}))
    .sort((a, b) => a.at - b.at)
    .map(({value}) => value);
}
