/** Settings of a tenant: variables, auth providers, the network that its code can reach, origins, limits, and the mark `production`. */
import {markProduction, useProtection} from '../../api/production.ts';
import {Check} from '../../parts/field.tsx';
import {Page, Section, type TenantPageProps} from '../../parts/page.tsx';
import {AuthProviders} from './auth-providers.tsx';
import {LimitsSection} from './limits-section.tsx';
import {Network} from './network.tsx';
import {Variables} from './variables.tsx';

export default function Settings({tenant}: TenantPageProps) {
  const protection = useProtection(tenant);
  return (
    <Page title="Settings">
      <Variables tenant={tenant} />
      <AuthProviders tenant={tenant} />
      <Network tenant={tenant} />
      <LimitsSection tenant={tenant} />
      <Section title="Protection">
        <Check
          label="Production"
          hint="This browser opens the tenant read-only, until you unlock it for the session."
          checked={protection !== 'none'}
          onChange={event => markProduction(tenant, event.target.checked)}
        />
      </Section>
    </Page>
  );
}
