/** What surrounds every page: navigation, the current tenant, notices. */
import {useQueryClient} from '@tanstack/react-query';
import {type ReactNode, useEffect, useState} from 'react';
import {Link} from 'wouter';
import {messageOf} from '../api/failure.ts';
import {signOut, useMay, useSession} from '../api/session.ts';
import {Button} from '../parts/button.tsx';
import {Icon} from '../parts/icon.tsx';
import {Mark} from '../parts/mark.tsx';
import {pathOf} from '../parts/page.tsx';
import {showToast} from '../parts/toast.tsx';
import css from './frame.module.css';
import {Notices} from './notices.tsx';
import {SERVER_PAGES, TENANT_PAGES} from './pages.ts';
import {Palette} from './palette.tsx';
import type {Place} from './place.ts';
import {KeysDialog, useShortcuts} from './shortcuts.tsx';

export function Frame({place, children}: {place: Place; children: ReactNode}) {
  const [isOpen, setOpen] = useState(false);
  const [above, setAbove] = useState<'palette' | 'tenants' | 'keys' | null>(null);
  const close = () => setAbove(null);
  useShortcuts({
    openPalette: () => setAbove('palette'),
    openTenants: () => setAbove('tenants'),
    openKeys: () => setAbove('keys'),
  });
  const tenant = place.kind === 'tenant' ? place.tenant : null;
  const title = place.kind === 'none' ? 'Not found' : place.page.title;

  useEffect(() => {
    document.title = [title, tenant, 'svc'].filter(Boolean).join(' · ');
  }, [title, tenant]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new place closes the navigation of narrow screens
  useEffect(() => setOpen(false), [place.kind === 'none' ? '' : place.page.id, tenant]);

  return (
    <div className={css.frame}>
      <a className={css.skip} href="#content">
        Skip to the content
      </a>
      <header className={css.top}>
        <Button
          kind="quiet"
          icon="menu"
          aria-label="Navigation"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        />
        <span className={css.where}>
          {tenant === null ? 'svc' : tenant} <span className={css.muted}>{title}</span>
        </span>
        <Button kind="quiet" icon="search" aria-label="Go to" onClick={() => setAbove('palette')} />
      </header>
      <nav id="navigation" className={[css.nav, isOpen ? css.open : ''].join(' ')} aria-label="Pages">
        <div className={css.brandLine}>
          <Link href="/tenants" className={css.brand}>
            <Mark />
            svc
          </Link>
          <button
            type="button"
            className={css.goTo}
            title="Go to a tenant, page or table"
            onClick={() => setAbove('palette')}
          >
            Go to <kbd>Ctrl K</kbd>
          </button>
        </div>
        {tenant === null ? null : <TenantLinks tenant={tenant} current={title} onSwitch={() => setAbove('tenants')} />}
        <ServerLinks current={place.kind === 'server' ? title : null} />
        <Account />
      </nav>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which must be possible by keyboard */}
      <main id="content" className={css.content} tabIndex={0}>
        <Notices tenant={tenant} />
        {children}
      </main>
      {above === 'palette' ? <Palette place={place} only="all" onClose={close} /> : null}
      {above === 'tenants' ? <Palette place={place} only="tenants" onClose={close} /> : null}
      {above === 'keys' ? <KeysDialog onClose={close} /> : null}
    </div>
  );
}

function TenantLinks({tenant, current, onSwitch}: {tenant: string; current: string; onSwitch(): void}) {
  const may = useMay();
  return (
    <section className={css.group} aria-label={`Pages of ${tenant}`}>
      <button type="button" className={css.tenant} title="Go to another tenant (T)" onClick={onSwitch}>
        <span className={css.name}>{tenant}</span>
        <Icon name="down" />
      </button>
      <ul>
        {TENANT_PAGES.filter(({needs}) => may(needs)).map(({id, title, icon}) => (
          <li key={id}>
            <Link href={pathOf(tenant, id)} className={css.link} aria-current={title === current ? 'page' : undefined}>
              <Icon name={icon} />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ServerLinks({current}: {current: string | null}) {
  const may = useMay();
  return (
    <section className={css.group} aria-label="Pages of the server">
      <div className={css.groupTitle}>Server</div>
      <ul>
        {SERVER_PAGES.filter(({needs}) => may(needs)).map(({id, title, icon}) => (
          <li key={id}>
            <Link href={`/${id}`} className={css.link} aria-current={title === current ? 'page' : undefined}>
              <Icon name={icon} />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Account() {
  const {who} = useSession();
  const client = useQueryClient();
  return (
    <footer className={css.account}>
      <span className={css.name} title={who.id === null ? 'One of the two admin credentials' : `Key ${who.id}`}>
        {who.name}
      </span>
      <Button
        kind="quiet"
        icon="leave"
        aria-label="Sign out"
        title="Sign out"
        onClick={async () => {
          try {
            await signOut();
            client.clear();
            location.assign('/_dashboard/');
          } catch (error) {
            showToast(messageOf(error), {tone: 'bad'});
          }
        }}
      />
    </footer>
  );
}
