import type { TenantRules } from '#services/hyperfleet-api/auth/tenancy.ts'

/** Tenants by organisation, and within it by project where a request says one. */
export const tenants: TenantRules = {
  systemHeader: 'X-System',
  dimensions: [
    { header: 'X-Org', key: 'org', required: true },
    { header: 'X-Project', key: 'project', required: false },
  ],
}

/** Headers of requests. */
export const RED = { 'x-org': 'red' }
export const BLUE = { 'x-org': 'blue' }
export const SYSTEM = { 'x-system': 'true' }
