"""Grafana's dashboards as code: each is a few rows of panels, written as JSON into the chart.

A query names our metrics by the values that the programs build theirs from, so a renamed metric cannot
leave a dashboard behind. What is Traefik's is named in one place, with its version. Panels say in a
sentence what they show; there are no panels that only look good.
"""

from privatellm_local.packaging.dashboards.dashboard import Dashboard
from privatellm_local.packaging.dashboards.edge import EDGE
from privatellm_local.packaging.dashboards.instance import INSTANCE
from privatellm_local.packaging.dashboards.overview import OVERVIEW
from privatellm_local.packaging.dashboards.sync import SYNC

DASHBOARDS: tuple[Dashboard, ...] = (OVERVIEW, INSTANCE, EDGE, SYNC)
"""Every dashboard of the chart."""
