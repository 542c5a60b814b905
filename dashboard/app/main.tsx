/** Entry of the dashboard's one HTML page. */
import '../parts/base.css';
import {QueryClientProvider} from '@tanstack/react-query';
import {createRoot} from 'react-dom/client';
import {Router} from 'wouter';
import {makeQueryClient} from '../api/queries.ts';
import {Toasts} from '../parts/toast.tsx';
import {App} from './app.tsx';
import {placeOf, stepsOf} from './place.ts';
import './styles.ts';

const BASE = '/_dashboard';

// The page's chunk loads while the session is asked for. Without a session it is needed after the sign-in.
const place = placeOf(stepsOf(location.pathname.slice(BASE.length)));
if (place.kind !== 'none') place.page.load().catch(() => undefined); // Showing it tries again, and says what failed.

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={makeQueryClient()}>
    <Router base={BASE}>
      <App />
    </Router>
    <Toasts />
  </QueryClientProvider>,
);
