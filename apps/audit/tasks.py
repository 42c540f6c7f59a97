"""Periodic work of the audit trail."""

from celery import shared_task

from apps.audit.services import audit_chain


@shared_task(name="audit.seal_audit_trail")
def seal_audit_trail() -> None:
    """Add the entries that were committed since the last run to the hash chain."""
    audit_chain.seal()
