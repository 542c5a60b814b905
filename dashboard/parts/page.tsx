/** The frame of a page's content, what every page gets, and the addresses of pages. */
import type {ReactNode} from 'react';
import {useSearchParams} from 'wouter';
import css from './page.module.css';

/** What a page of a tenant gets. */
export type TenantPageProps = {
  readonly tenant: string;
  /** The steps of the path after the page's own, decoded. */
  readonly rest: readonly string[];
};

/** @returns the path of a tenant's page, for links and `navigate`, without `/_dashboard` */
export function pathOf(tenant: string, page: string, ...rest: readonly string[]): string {
  return `/t/${[tenant, page, ...rest].map(encodeURIComponent).join('/')}`;
}

/** A value in the URL's query, so that a link shows what its sender saw. Empty values leave the URL. */
export function useUrlState(name: string, initial = ''): [value: string, set: (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) =>
    setSearch(
      before => {
        const after = new URLSearchParams(before);
        if (value === initial) after.delete(name);
        else after.set(name, value);
        return after;
      },
      {replace: true},
    );
  return [search.get(name) ?? initial, set];
}

export function Page({
  title,
  actions,
  isWide = false,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  isWide?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={[css.page, isWide ? css.wide : ''].join(' ')}>
      <header className={css.head}>
        <h1>{title}</h1>
        <div className={css.actions}>{actions}</div>
      </header>
      {children}
    </div>
  );
}

export function Section({title, actions, children}: {title: string; actions?: ReactNode; children: ReactNode}) {
  return (
    <section className={css.section}>
      <header className={css.sectionHead}>
        <h2>{title}</h2>
        <div className={css.actions}>{actions}</div>
      </header>
      {children}
    </section>
  );
}

/** Controls above a list: filters and search. */
export function Toolbar({children}: {children: ReactNode}) {
  return <div className={css.toolbar}>{children}</div>;
}

/** Names with their values, such as the facts of one thing. */
export function Facts({facts}: {facts: readonly (readonly [name: string, value: ReactNode])[]}) {
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
