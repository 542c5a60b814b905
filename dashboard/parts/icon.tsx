/** Line icons of 16 px. They say nothing to screen readers: the control around one has a name. */
import css from './icon.module.css';

const PATHS = {
  tenants: 'M4 20V9l8-5 8 5v11M4 20h16M9 20v-6h6v6',
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  data: 'M4 6c0-3 16-3 16 0v12c0 3-16 3-16 0zM4 6c0 3 16 3 16 0M4 12c0 3 16 3 16 0',
  schema: 'M4 5h16M4 5v14h16V5M4 10h16M10 10v9',
  journal: 'M12 7v5l3 2M12 3a9 9 0 1 1-9 9M3 12l-1-3M3 12l3-1',
  functions: 'M14 4c-4 0-3 4-3.5 8S10 20 6 20M7 11h7',
  logs: 'M4 6h16M4 10h10M4 14h16M4 18h7',
  schedules: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2',
  deployments: 'M12 19V6M6 11l6-6 6 6M5 21h14',
  services: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  live: 'M12 12h.01M8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M5.6 18.4a9 9 0 0 1 0-12.8M18.4 5.6a9 9 0 0 1 0 12.8',
  settings: 'M4 8h10M18 8h2M16 6v4M4 16h4M12 16h8M10 14v4',
  keys: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M16 7l3 3',
  backups: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v5h5M12 8v4l3 2',
  audit: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4',
  server: 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4',
  people:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3 20c0-6 12-6 12 0M15.5 5.5a3.5 3.5 0 0 1 0 6M18 20c0-2-.7-3.4-2-4.3',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 20 20',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M6 11.5h.01v1H6zM12 11.5h.01v1H12zM18 11.5h.01v1H18z',
  close: 'M6 6l12 12M18 6 6 18',
  down: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  plus: 'M12 5v14M5 12h14',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  leave: 'M14 4h5v16h-5M4 12h10M10 8l4 4-4 4',
  warning: 'M12 4 2.5 20h19zM12 10v4M12 17h.01',
  lock: 'M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3',
  refresh: 'M20 12a8 8 0 1 1-2.3-5.7M20 4v5h-5',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  check: 'M5 13l4 4L19 7',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({name}: {name: IconName}) {
  return (
    <svg className={css.icon} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
