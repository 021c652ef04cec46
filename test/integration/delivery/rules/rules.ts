import { budgetsLeaveRoom, severalHaveABudget } from './budgets.ts'
import {
  accountsStay,
  claimsAsStored,
  inOneNamespace,
  keptUnlessConfirmed,
  noCertificates,
  noStatus,
  refersToOneNamespace,
  sentinelsWithTheirConfig,
  wavesInOrder,
} from './delivery.ts'
import { hasAHealthScript, hasASample, hasRolesForPeople, shownInColumns, tellsItsState } from './kinds.ts'
import type { Rule } from './manifest.ts'
import { byDigest, portsAreNamed, probed, restricted, sized, tokensAreMeant } from './pods.ts'
import { noWildcards, rightsAreSomebodys } from './rights.ts'
import { monitorsScrapeSomething, servicesLeadSomewhere, theApiIsKnown } from './services.ts'
import { bothSidesAgree, deniedUnlessNamed, policiesNamePodPorts } from './traffic.ts'

/** What must hold in the build of every overlay, by what it is for. GITOPS-9, GITOPS-10. */
export const OVERLAY_RULES: Readonly<Record<string, Rule>> = {
  'everything is in its namespace': inOneNamespace('hyperfleet-system'),
  'everything refers to its namespace': refersToOneNamespace('hyperfleet-system'),
  'pods are restricted': restricted,
  'pods hold tokens on purpose': tokensAreMeant,
  'containers are probed': probed,
  'containers are sized': sized,
  'ports are named': portsAreNamed,
  'Services lead somewhere': servicesLeadSomewhere,
  'monitors scrape something': monitorsScrapeSomething,
  'callers know the HyperFleet API': theApiIsKnown,
  'budgets leave room': budgetsLeaveRoom,
  'policies name ports of pods': policiesNamePodPorts,
  'both sides of a call agree': bothSidesAgree,
  'rights name what they are for': noWildcards,
  'rights have a holder': rightsAreSomebodys,
  'no certificates': noCertificates,
  'no status': noStatus,
  'claims are said as they are stored': claimsAsStored,
  'waves are in order': wavesInOrder,
  'Sentinels come with their SentinelConfigs': sentinelsWithTheirConfig,
  'what takes the rest with it is kept': keptUnlessConfirmed,
  'accounts stay after a revert': accountsStay,
}

/** What must hold in production besides. */
export const PRODUCTION_RULES: Readonly<Record<string, Rule>> = {
  'images are named by digest': byDigest,
  'several have a budget': severalHaveABudget,
  'nothing flows that is not named': deniedUnlessNamed,
}

/** What must hold of every kind, in the base together with Argo CD's settings and the samples. */
export const KIND_RULES: Readonly<Record<string, Rule>> = {
  'a kind is shown in columns': shownInColumns,
  'a kind tells its state': tellsItsState,
  'a kind has a sample': hasASample,
  'a kind has roles for people': hasRolesForPeople,
  'a kind has a health script': hasAHealthScript,
}
