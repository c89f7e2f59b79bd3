import * as changes from './changes.ts'
import * as credits from './credits.ts'
import * as keys from './keys.ts'
import * as limits from './limits.ts'
import * as plans from './plans.ts'
import * as prices from './prices.ts'
import { type AdminRoute, actionRoute, deleteRoute, getRoute, patchRoute, postRoute, putRoute } from './route.ts'
import * as routing from './routing.ts'
import * as subscriptions from './subscriptions.ts'
import * as workspaces from './workspaces.ts'

const requests = 'requests/admin'

export const adminRoutes: readonly AdminRoute[] = [
  postRoute(
    '/admin/v1/workspaces',
    `${requests}/open-workspace.json`,
    { summary: 'Open a workspace; opening it again does nothing', answer: 'workspace' },
    workspaces.postWorkspace,
  ),
  getRoute(
    '/admin/v1/workspaces',
    { summary: 'Every workspace with its wallet', answer: 'list of workspace', query: workspaces.known },
    workspaces.showWorkspaces,
  ),
  getRoute(
    '/admin/v1/workspaces/:id',
    { summary: 'One workspace with its wallet', answer: 'workspace' },
    workspaces.getWorkspace,
  ),
  patchRoute(
    '/admin/v1/workspaces/:id',
    `${requests}/change-workspace.json`,
    { summary: 'Change its name or credit limit', answer: 'workspace' },
    workspaces.patchWorkspace,
  ),
  postRoute(
    '/admin/v1/workspaces/:id/credits',
    `${requests}/credit.json`,
    { summary: 'Add money, once for each reference', answer: 'credit' },
    credits.postCredit,
  ),
  getRoute(
    '/admin/v1/workspaces/:id/credits',
    { summary: 'Money that was added, newest first', answer: 'list of credit', query: credits.creditsParameters },
    credits.showCredits,
  ),
  postRoute(
    '/admin/v1/keys',
    `${requests}/issue-key.json`,
    { summary: 'Issue a key and show its secret, this once', answer: 'key' },
    keys.postKey,
  ),
  getRoute(
    '/admin/v1/keys',
    { summary: 'Every key, or those of a workspace', answer: 'list of key', query: keys.keysParameters },
    keys.showWorkspaceKeys,
  ),
  getRoute('/admin/v1/keys/:id', { summary: 'One key', answer: 'key' }, keys.getKey),
  patchRoute(
    '/admin/v1/keys/:id',
    `${requests}/set-key-expiry.json`,
    { summary: 'Set when a key stops', answer: 'key' },
    keys.putKeyExpiry,
  ),
  postRoute(
    '/admin/v1/keys/:id/rotate',
    `${requests}/rotate-key.json`,
    { summary: 'Put a fresh key in its place and show its secret, this once', answer: 'key' },
    keys.rotateKeyByRequest,
  ),
  actionRoute(
    '/admin/v1/keys/:id/revoke',
    { summary: 'End a key; ending it again does nothing', answer: 'key' },
    keys.revokeKeyByRequest,
  ),
  deleteRoute('/admin/v1/keys/:id', { summary: 'The same', answer: 'key' }, keys.revokeKeyByRequest),
  postRoute(
    '/admin/v1/prices',
    'price-file.json',
    { summary: 'Publish rows of a price file; what stands already is not published again', answer: 'list of price' },
    prices.postPrices,
  ),
  getRoute(
    '/admin/v1/prices',
    { summary: 'What is in force now, by model', answer: 'list of price', query: prices.known },
    prices.showPrices,
  ),
  postRoute(
    '/admin/v1/prices/import',
    `${requests}/import-prices.json`,
    { summary: "Compare with LiteLLM's table, and publish what is asked", answer: 'price_import' },
    prices.postPriceImport,
  ),
  getRoute(
    '/admin/v1/prices/*id',
    { summary: 'Every sheet of a model', answer: 'list of price' },
    prices.listPriceHistory,
  ),
  getRoute(
    '/admin/v1/aliases',
    { summary: 'Every alias, and where its word comes from', answer: 'list of alias', query: routing.aliasPage.known },
    routing.listAliases,
  ),
  putRoute(
    '/admin/v1/aliases/:id',
    `${requests}/set-alias.json`,
    { summary: "Set an alias over the configuration's", answer: 'alias' },
    routing.putAlias,
  ),
  deleteRoute(
    '/admin/v1/aliases/:id',
    { summary: "Give the configuration's word back", answer: 'alias' },
    routing.removeAlias,
  ),
  getRoute(
    '/admin/v1/routers',
    {
      summary: 'Every router, and where its word comes from',
      answer: 'list of router',
      query: routing.routerPage.known,
    },
    routing.listRouters,
  ),
  putRoute(
    '/admin/v1/routers/:id',
    `${requests}/set-router.json`,
    { summary: "Set a router over the configuration's", answer: 'router' },
    routing.putRouter,
  ),
  deleteRoute(
    '/admin/v1/routers/:id',
    { summary: "Give the configuration's word back", answer: 'router' },
    routing.removeRouter,
  ),
  getRoute(
    '/admin/v1/workspaces/:id/limits',
    {
      summary: 'The limits of a workspace and of its working keys, with what is spent',
      answer: 'list of limits',
      query: limits.known,
    },
    limits.showLimits,
  ),
  putRoute(
    '/admin/v1/workspaces/:id/limits',
    `${requests}/set-limits.json`,
    { summary: 'Set the limits of a workspace, whole', answer: 'limits' },
    limits.putWorkspaceLimits,
  ),
  deleteRoute(
    '/admin/v1/workspaces/:id/limits',
    { summary: 'Lift every limit of a workspace', answer: 'limits' },
    limits.deleteWorkspaceLimits,
  ),
  putRoute(
    '/admin/v1/workspaces/:id/keys/:key/limits',
    `${requests}/set-limits.json`,
    { summary: 'Set the limits of a key, whole', answer: 'limits' },
    limits.putKeyLimits,
  ),
  deleteRoute(
    '/admin/v1/workspaces/:id/keys/:key/limits',
    { summary: 'Lift every limit of a key', answer: 'limits' },
    limits.deleteKeyLimits,
  ),
  getRoute(
    '/admin/v1/plans',
    { summary: 'Every plan on its terms of now', answer: 'list of plan', query: plans.known },
    plans.showPlans,
  ),
  putRoute(
    '/admin/v1/plans/:id',
    `${requests}/publish-plan.json`,
    { summary: 'Publish a plan, or its new terms', answer: 'plan' },
    plans.putPlan,
  ),
  getRoute(
    '/admin/v1/workspaces/:id/subscription',
    { summary: 'The plan that a workspace has', answer: 'subscription' },
    subscriptions.getSubscription,
  ),
  putRoute(
    '/admin/v1/workspaces/:id/subscription',
    `${requests}/subscribe.json`,
    { summary: 'Give a workspace a plan, and charge its fee', answer: 'subscription' },
    subscriptions.putSubscription,
  ),
  deleteRoute(
    '/admin/v1/workspaces/:id/subscription',
    { summary: 'Do not renew the plan; it ends with its period', answer: 'subscription' },
    subscriptions.deleteSubscription,
  ),
  getRoute(
    '/admin/v1/events',
    { summary: 'Who changed what when, newest first', answer: 'list of event', query: changes.changesParameters },
    changes.showAdminChanges,
  ),
]
