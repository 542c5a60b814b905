/** An address that no page has. */
import {Link} from 'wouter';
import {Empty} from '../parts/states.tsx';

export function NotFound() {
  return (
    <Empty title="There is no page at this address" icon="search">
      Go to <Link href="/tenants">all tenants</Link>, or press Ctrl K to find a page.
    </Empty>
  );
}
