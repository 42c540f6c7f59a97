"""What speaks for or against a driver, in candidates and replacements."""

from apps.rides.rules.ranking import ReasonCode
from lib.api import fields
from lib.api.serializers import OutShape


class ReasonOut(OutShape):
    """Something that speaks for or against a driver: a code with its parameters, and both in words."""

    code = fields.Choice(choices=[code.value for code in ReasonCode])
    parameters = fields.Anything()
    message = fields.Text()
