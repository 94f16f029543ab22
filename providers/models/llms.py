"""Models that agents may use."""

from providers.models.resource import Resource


class Model(Resource):
    """A registered model; its labels are what scheduling policies select by."""

    class Meta(Resource.Meta):
        verbose_name = "model"
