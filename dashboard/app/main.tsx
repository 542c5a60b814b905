/** Entry of the dashboard's one HTML page. */
import '../parts/base.css';
import {QueryClientProvider} from '@tanstack/react-query';
import {createRoot} from 'react-dom/client';
import {Router} from 'wouter';
import {makeQueryClient} from '../api/queries.ts';
import {Toasts} from '../parts/toast.tsx';
import {App} from './app.tsx';
import './styles.ts';

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={makeQueryClient()}>
    <Router base="/_dashboard">
      <App />
    </Router>
    <Toasts />
  </QueryClientProvider>,
);
