/** Shows the sign-in page, or the page that the path names in its frame. */
import {Suspense} from 'react';
import {Redirect, useLocation} from 'wouter';
import {SessionContext, useSessionQuery} from '../api/session.ts';
import {Failed, Loading} from '../parts/states.tsx';
import {ErrorBoundary} from './error-boundary.tsx';
import {Frame} from './frame.tsx';
import {NotFound} from './not-found.tsx';
import {type Place, placeOf, stepsOf} from './place.ts';
import {codeOfLink, SignIn} from './sign-in.tsx';

/** A one-time link signs in even where a session is open: it can be another credential's. */
const linkCode = codeOfLink();

export function App() {
  const session = useSessionQuery();
  if (session.data === undefined && session.error === null) return <Loading label="Loading the dashboard" />;
  if (session.error !== null) return <Failed error={session.error} retry={() => void session.refetch()} />;
  if (session.data === null || linkCode.isOpen()) return <SignIn code={linkCode} />;
  return (
    <SessionContext value={session.data}>
      <Pages />
    </SessionContext>
  );
}

function Pages() {
  const [path] = useLocation();
  const steps = stepsOf(path);
  if (steps.length === 0) return <Redirect to="/tenants" replace />;
  if (steps.length === 2 && steps[0] === 't')
    return <Redirect to={`/t/${encodeURIComponent(steps[1]!)}/overview`} replace />;
  const place = placeOf(steps);
  return (
    <Frame place={place}>
      <ErrorBoundary key={path}>
        <Suspense fallback={<Loading />}>
          <Content place={place} />
        </Suspense>
      </ErrorBoundary>
    </Frame>
  );
}

function Content({place}: {place: Place}) {
  if (place.kind === 'none') return <NotFound />;
  if (place.kind === 'server') return <place.page.Content />;
  // Another tenant is another page: no state of the one before stays.
  return <place.page.Content key={place.tenant} tenant={place.tenant} rest={place.rest} />;
}
